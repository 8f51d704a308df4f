import { injection } from './injection.ts';
import { quick } from './quick.ts';

quick(injection);
