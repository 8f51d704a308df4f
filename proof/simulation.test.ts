import { quick } from './quick.ts';
import { simulation } from './simulation.ts';

quick(simulation);
