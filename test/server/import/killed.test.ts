/** SIGKILL during an import: run again until it ends, it has stored everything once. */
// database: sqlite and postgres, which outlive the process
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import importing from '../../../plugins/import/index.ts'
import { bundledProgram } from '../../support/bundled-program.ts'
import { chosenKind, temporaryFolder } from '../../support/database-kinds.ts'
import { basic, serverWith } from '../../support/server-with.ts'

const KILLS = Number(process.env.TEST_IMPORT_KILLS ?? 3)
const RECORDS = KILLS * 1_000
const PROGRAM = bundledProgram('importing-process')

const folder = temporaryFolder()
test.after(() => folder.remove())

/** Calls `seen` with each line of the process, and resolves when it has ended. */
const importOnce = async (
  settings: object,
  paths: readonly string[],
  seen: (line: string, child: ChildProcess) => void,
): Promise<void> => {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(settings), ...paths], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) seen(line, child)
  await ended
}

test('an import that is killed again and again has stored each record once at its end', async () => {
  const lines = Array.from({ length: RECORDS }, (_, at) =>
    JSON.stringify({ resourceType: 'Patient', identifier: [{ system: 'urn:import', value: `${at}` }] }),
  )
  const path = join(folder.path, 'Patient.ndjson')
  writeFileSync(path, lines.join('\n'))
  const fresh = await chosenKind.migrated([...basic, importing])
  let result = ''
  for (let kill = 1; result === ''; kill += 1) {
    let batches = 0
    await importOnce(fresh.settings, [path], (line, child) => {
      if (line.startsWith('done')) result = line
      else if (line !== '0') batches += 1
      // Each time a little later, with transactions under way.
      if (kill <= KILLS && batches === 1 + (kill % 3)) child.kill('SIGKILL')
    })
    assert.ok(kill <= KILLS + 1, 'it ends when nobody kills it')
  }
  assert.is(result, `done ${RECORDS}`)
  const server = await serverWith({ plugins: [...basic, importing], settings: fresh.settings })
  const found = new Set<string>()
  let url: string | undefined = '/Patient?_count=1000'
  let entries = 0
  while (url !== undefined) {
    const bundle = (await server.inject(url)).json() as {
      entry?: { resource: { identifier: [{ value: string }] } }[]
      link: { relation: string; url: string }[]
    }
    for (const { resource } of bundle.entry ?? []) {
      found.add(resource.identifier[0].value)
      entries += 1
    }
    const next = bundle.link.find(({ relation }) => relation === 'next')?.url
    url = next && new URL(next).pathname + new URL(next).search
  }
  assert.is(entries, RECORDS)
  assert.is(found.size, RECORDS)
  await server.stop()
  await fresh.remove()
})

test.run()
