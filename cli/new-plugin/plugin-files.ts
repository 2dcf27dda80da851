/** All files of a new plugin's package: path → text. */
import { BUILD } from '../../kernel/index.ts'
import { type PluginNames, pluginSource, testSource } from './source-files.ts'

/** What the package is compiled with; the same as this one. */
const TYPESCRIPT = '^7.0.2'
const NODE_TYPES = '^24'

const manifest = ({ package: name }: PluginNames): object => ({
  name,
  version: '0.1.0',
  description: 'A plugin of refhir: counts requests, and those that are slow',
  type: 'module',
  exports: './dist/index.js',
  files: ['dist', '!dist/*.test.*'],
  scripts: {
    build: 'tsc',
    test: 'tsc && node --test "dist/*.test.js"',
    prepack: 'tsc',
  },
  engines: { node: '>=22.21 <23 || >=24.9' },
  // The server's own copy: with another one errors and services still match, but not the types.
  peerDependencies: { refhir: `^${BUILD}` },
  devDependencies: { '@types/node': NODE_TYPES, refhir: `^${BUILD}`, typescript: TYPESCRIPT },
})

const TSCONFIG = {
  compilerOptions: {
    target: 'ES2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    skipLibCheck: true,
    verbatimModuleSyntax: true,
    rootDir: 'src',
    outDir: 'dist',
  },
  include: ['src'],
}

const readme = ({ package: name, plugin }: PluginNames): string => `# ${name}

## Name

\`${plugin}\`: a plugin of refhir that counts requests, and those that are slow.

## Description

The counts are those of one process since its start. They are shown at \`/_${plugin}\`.

## Settings

\`\`\`toml
[plugins]
load = ["${name}"]

[plugin.${plugin}]
slow_ms = 1000 # milliseconds from which on a request counts as slow
\`\`\`

## Hooks

| Hook | Does |
| --- | --- |
| \`meter\` | counts |

## Endpoints

| Endpoint | Answers |
| --- | --- |
| \`GET /_${plugin}\` | \`{"requests":12,"slow":0}\`; where callers have tokens, to those who may read the whole audit trail |

## Develop

\`\`\`sh
npm install   # refhir comes from the registry; npm install -D ../refhir-0.1.0.tgz takes it from a file
npm test      # compiles to dist/, and asks the plugin over HTTP
\`\`\`

To load it, install it beside the server: \`npm install ../${plugin}\`, and list it under \`[plugins] load\` of server.toml.
What a plugin can do is in CONTRIBUTING.md of refhir, under "Write a plugin".
`

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

export const pluginFiles = (names: PluginNames): ReadonlyMap<string, string> =>
  new Map([
    ['package.json', json(manifest(names))],
    ['tsconfig.json', json(TSCONFIG)],
    ['.gitignore', 'node_modules/\ndist/\n*.tgz\n'],
    ['README.md', readme(names)],
    ['src/index.ts', pluginSource(names)],
    ['src/index.test.ts', testSource(names)],
  ])
