import module from 'node:module';

// Preloaded into every process of a test run (see `global-setup.ts`), including npm, whose Node may be older.
const url = process.env.TEST_KYSELY;
module.registerHooks?.({
  resolve: (specifier, context, next) =>
    specifier === 'kysely' && url !== undefined
      ? { url, format: 'module', shortCircuit: true }
      : next(specifier, context),
});
