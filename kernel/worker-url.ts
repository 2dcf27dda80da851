/**
 * The URL of a worker's file: a checkout runs the source, the compiled program has the same file as .js.
 * `from`: `import.meta.url` of the caller; `name`: relative to it, as in an import, `./read-worker.ts`.
 */
export const workerUrl = (from: string, name: `./${string}.ts`): URL =>
  new URL(from.endsWith('.ts') ? name : name.replace(/\.ts$/, '.js'), from)
