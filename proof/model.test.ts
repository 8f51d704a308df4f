import { model } from './model.ts';
import { quick } from './quick.ts';

quick(model);
