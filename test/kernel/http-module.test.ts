/** Loading the server does not load the client behind fetch, which takes a sixth of the CPU time of loading it. */
import { execFileSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const from = (path: string): string => new URL(`../../${path}`, import.meta.url).href
const loadedBy = (path: string): readonly string[] => {
  const program = `await import(${JSON.stringify(from(path))}); console.log(process.moduleLoadList.join('\\n'))`
  return execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }).split('\n')
}

for (const path of ['plugins/index.ts', 'plugins/database/orm.ts', 'plugins/fhir/large/thread.ts'])
  test(`${path} is loaded without it`, () => {
    const loaded = loadedBy(path)
    assert.ok(loaded.includes('NativeModule http'), 'these are the names')
    assert.not.ok(loaded.includes('NativeModule internal/deps/undici/undici'))
  })

test.run()
