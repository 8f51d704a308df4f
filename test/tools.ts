import { install } from './install.ts';

// Installs what only tests, checks and the build need, exactly as test/package-lock.json says, unless it is there.
install(new URL('./', import.meta.url));
