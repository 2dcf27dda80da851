/** `server config`: the effective settings, as TOML with where each came from, or as JSON. Secrets are masked. */
import { Command, Flags } from '@oclif/core'
import type { Reported } from '../kernel/settings/decode.ts'
import { describeOrigin } from '../kernel/settings/describe-origin.ts'
import { ownContext } from './context.ts'
import { keyLine } from './toml.ts'
import { unknownVariables } from './unknown-variables.ts'

const NOTE_COLUMN = 48 // column, in characters, at which origins are aligned

const originOf = ({ origin }: Reported): string => (origin.source === 'default' ? 'default' : describeOrigin(origin))

const line = (one: Reported): string => {
  const key = one.words.join('.')
  if (one.value === undefined) return `# ${key} is not set`
  return `${keyLine(one.words, one.value).padEnd(NOTE_COLUMN)} # ${originOf(one)}`
}

const asToml = (report: readonly Reported[], files: readonly string[]): string => {
  const sections = Map.groupBy(report, (one) => one.section)
  const head = files.length === 0 ? '# no settings file' : `# ${files.join(', ')}`
  const parts = [...sections].map(([section, lines]) => `[${section}]\n${lines.map(line).join('\n')}\n`)
  return [head, ...parts].join('\n')
}

const asJson = (report: readonly Reported[]): string =>
  `${JSON.stringify(
    report.map(({ path, value, origin, secret }) => ({ path, value: value ?? null, origin, secret })),
    null,
    2,
  )}\n`

export class ShowConfig extends Command {
  static override summary = 'Prints the effective settings and where each came from; secrets are masked.'
  static override flags = { json: Flags.boolean({ description: 'Print JSON instead of TOML.' }) }

  override async run(): Promise<void> {
    const { flags } = await this.parse(ShowConfig)
    const { settings, layered, kernel, stdout, stderr, world, gathered } = ownContext(this)
    for (const { about } of unknownVariables(world.environment, gathered.settings)) stderr.write(`server: ${about}\n`)
    const report = settings().report()
    // Some settings are checked with others, or by more than their type: where a kernel is made of them, as at a start.
    await kernel({ log: { stream: { write: () => undefined } } })
    stdout.write(flags.json ? asJson(report) : asToml(report, layered().places))
  }
}
