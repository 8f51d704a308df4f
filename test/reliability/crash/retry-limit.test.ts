import { smokeTest } from '../smoke.ts';
import { removal } from './retry-limit.ts';

smokeTest(removal);
