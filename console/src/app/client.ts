import { CarillonConsole } from '../../../packages/sdk/src/console.ts';

/** The API client of the console. It uses the console's route group, authenticated by the session cookie. */
export const client = new CarillonConsole({ baseUrl: new URL('.', document.baseURI) });
