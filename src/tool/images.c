#include "tool/images.h"

static bool is_digit(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           c == '+' || c == '/';
}

static bool is_base64(struct str text)
{
    size_t len = text.len;
    while (len && text.len - len < 2 && text.data[len - 1] == '=')
        len--;
    for (size_t i = 0; i < len; i++)
        if (!is_digit(text.data[i]))
            return false;
    return len && !(text.len % 4);
}

static bool is_image(const json_t *image)
{
    static const char *const types[] = { "image/gif", "image/jpeg", "image/png",
        "image/webp" };
    struct str type = json_get_str(image, "mime", STR(""));
    return str_which(type, types, ARRAY_LEN(types)) < ARRAY_LEN(types) &&
           is_base64(json_get_str(image, "data", STR("")));
}

json_t *images_choose(const json_t *images, struct buf *note)
{
    json_t *chosen = json_array(), *image;
    size_t i, bytes = 0, missing = 0;
    json_array_foreach (images, i, image) {
        size_t more = json_get_str(image, "data", STR("")).len;
        if (json_array_size(chosen) == IMAGES_MAX || more > IMAGES_MAX_BYTES - bytes ||
                !is_image(image)) {
            missing++;
            continue;
        }
        bytes += more;
        json_array_append(chosen, image);
    }
    if (missing)
        buf_addf(note,
                "[paddock: %zu of %zu images %s left out: a reply carries at most %d, "
                "and %zu MiB of them]\n",
                missing, json_array_size(images), missing == 1 ? "is" : "are", IMAGES_MAX,
                IMAGES_MAX_BYTES >> 20);
    if (json_array_size(chosen))
        return chosen;
    json_decref(chosen);
    return NULL;
}
