/*
 * npm start: builds what changed, then serves with the R4 definitions that npm installed, so that a first start needs no
 * other download. Flags are passed on; a server.toml, when there is one, is read as always.
 */
import { spawnSync } from 'node:child_process'
import { globSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const STAMP = `${root}dist/.built`
const SOURCES = [
  'kernel/**/*.ts',
  'plugins/**/*.ts',
  'cli/**/*.ts',
  'schemas/**/*.ts',
  'tsconfig*.json',
  'package.json',
]
const DEFINITIONS = `${root}node_modules/hl7.fhir.r4.examples`

const builtAt = () => {
  try {
    return statSync(STAMP).mtimeMs
  } catch {
    return 0
  }
}

const built = builtAt()

const build = () => {
  process.stderr.write(
    built === 0
      ? 'The first start builds the server and installs the definitions of FHIR R4: some ten seconds. Building …\n'
      : 'Building what changed …\n',
  )
  const compiler = `${root}node_modules/typescript/bin/tsc`
  // Types are checked by npm run typecheck, and declarations are of use to a package only: npm pack makes them.
  const options = ['-p', 'tsconfig.build.json', '--noCheck', '--declaration', 'false']
  const { status } = spawnSync(process.execPath, [compiler, ...options], { cwd: root, stdio: 'inherit' })
  if (status !== 0) {
    process.stderr.write('The build failed; npm run typecheck shows why.\n')
    process.exit(1)
  }
  writeFileSync(STAMP, '')
  const now = new Date()
  utimesSync(STAMP, now, now)
}

if (globSync(SOURCES, { cwd: root }).some((file) => statSync(`${root}${file}`).mtimeMs > built)) build()

process.env.SERVER_SKIP_DEFAULT_PACKAGES ??= 'true'
process.argv.push('--package', DEFINITIONS)
await import('./bin.js')
