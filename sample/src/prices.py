"""Price of a crate in cents, by variety."""
PRICES = {"Boskoop": 1450, "Gala": 1200, "Topaz": 1390}


def price(variety):
    # TODO: prices change by month
    return PRICES.get(variety, 1000)
