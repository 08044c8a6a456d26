import { inspectAll } from './inspector.mjs';

inspectAll('stdio');
