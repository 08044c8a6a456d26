import { inspectAll } from './inspector.mjs';

inspectAll('http');
