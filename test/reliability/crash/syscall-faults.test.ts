import { quick } from '../smoke.ts';
import { injection } from './syscall-faults.ts';

quick(injection);
