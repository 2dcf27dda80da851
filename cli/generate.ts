/** `npm run generate`: writes the generated files of the repository. test/generated.test.ts fails when one is stale. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { firstParty } from '../plugins/index.ts'
import { generatedFiles } from './docs/files.ts'

const at = (path: string): URL => new URL(`../${path}`, import.meta.url)
const read = (path: string): string => readFileSync(at(path), 'utf8')

for (const [path, text] of Object.entries(generatedFiles(firstParty, read))) {
  mkdirSync(new URL('.', at(path)), { recursive: true })
  writeFileSync(at(path), text)
  process.stdout.write(`${path}\n`)
}
