/** Each hook has a user among the first-party and example plugins, which a reader can follow. */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createHooks } from '../../kernel/hooks.ts'
import type { AnyPlugin } from '../../kernel/index.ts'
import { firstParty } from '../../plugins/index.ts'
import { kernelWith } from '../support/kernel-with.ts'

const EXAMPLES = new URL('../../examples/', import.meta.url)

test('every hook is tapped by a first-party or example plugin', async () => {
  const files = globSync('*-plugin.ts', { cwd: fileURLToPath(EXAMPLES) })
  const examples = await Promise.all(
    files.map(async (file) => ((await import(new URL(file, EXAMPLES).href)) as { default: AnyPlugin }).default),
  )
  // Some tap only where their settings ask for it.
  const settings = { database: { kind: 'memory' }, cors: { origins: ['https://app.example.org'] } }
  const { kernel } = await kernelWith([...firstParty, ...examples], { settings })
  const tapped = new Set((await kernel.describe()).flatMap(({ hooks }) => hooks.map((one) => one.split(':')[0])))
  const untapped = Object.keys(createHooks()).filter((hook) => !tapped.has(hook))
  assert.equal(untapped, [])
  await kernel.stop()
})

test.run()
