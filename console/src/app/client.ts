import { CarillonConsole } from '../../../packages/sdk/src/console.ts';

/** The one way to the service: the rows behind the console's door, for whoever has signed in. */
export const client = new CarillonConsole({ baseUrl: new URL('.', document.baseURI) });
