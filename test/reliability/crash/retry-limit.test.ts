import { quick } from '../smoke.ts';
import { removal } from './retry-limit.ts';

quick(removal);
