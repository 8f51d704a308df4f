import module from 'node:module';

// Preloaded into every process of a test run (`in-one-file.ts`); npm's are among them, of a Node that may be older.
const url = process.env.TEST_KYSELY;
module.registerHooks?.({
  resolve: (specifier, context, next) =>
    specifier === 'kysely' && url !== undefined
      ? { url, format: 'module', shortCircuit: true }
      : next(specifier, context),
});
