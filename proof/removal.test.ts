import { quick } from './quick.ts';
import { removal } from './removal.ts';

quick(removal);
