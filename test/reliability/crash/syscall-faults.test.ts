import { smokeTest } from '../smoke.ts';
import { injection } from './syscall-faults.ts';

smokeTest(injection);
