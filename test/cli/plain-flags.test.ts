/** Flags that are read without oclif are what oclif reads; what it would refuse, or read another way, is left to it. */
import { Parser } from '@oclif/core'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { configFlag, settingsFlags } from '../../cli/flags.ts'
import { plainFlags } from '../../cli/plain-flags.ts'
import { settingsOf } from '../../kernel/settings/annotation.ts'
import { sectionsOf } from '../../kernel/settings/sections.ts'
import { firstParty } from '../../plugins/index.ts'

const settings = settingsOf(sectionsOf(firstParty, []))

const byOclif = async (argv: readonly string[]): Promise<Record<string, unknown>> => {
  const { flags } = await Parser.parse([...argv], { flags: { ...configFlag, ...settingsFlags(settings) } })
  const { config: _, ...ofSettings } = flags as Record<string, unknown>
  return ofSettings
}

const READ = [
  [],
  ['--bind', '127.0.0.1:0'],
  ['--bind=127.0.0.1:0', '--memory'],
  ['--sqlite', 'a b.sqlite', '--package', 'one', '--package', 'two'],
  ['--package=one,two', '--package', 'a=b'],
  ['--update-as-create', '--references', 'fhir'],
  ['--no-update-as-create'],
  ['--config', 'x.toml', '--postgres', 'postgresql://a:b@c/d?e=f'],
  ['--log-level', 'nonsense'],
  ['--memory', '--sqlite', 'x'],
]

for (const argv of READ)
  test(`read alike: ${argv.join(' ')}`, async () => {
    assert.equal({ ...plainFlags(settings, argv) }, { ...(await byOclif(argv)) })
  })

const LEFT = [
  ['extra'],
  ['--bind'],
  ['--bind', ''],
  ['--bind='],
  ['--bind', '-x'],
  ['--bind', '--memory'],
  ['--bind', 'a', '--bind', 'b'],
  ['--memory', '--memory'],
  ['--memory=true'],
  ['--no-memory', 'x'],
  ['--update-as-create', '--no-update-as-create'],
  ['--no-bind', 'x'],
  ['--unknown'],
  ['--', '--memory'],
  ['-b', 'x'],
  ['--constructor', 'x'],
]

for (const argv of LEFT)
  test(`left to oclif: ${argv.join(' ')}`, () => {
    assert.is(plainFlags(settings, argv), undefined)
  })

test.run()
