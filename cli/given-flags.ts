/** The flags that a command was given, by their names without dashes, and the settings that they set. */
import { commandLineFlagsOf, type Setting } from '../kernel/settings/annotation.ts'
import { REFUSED, StartFailed } from './start-failure.ts'

export type GivenFlags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>

/** The settings that a given flag sets: its own, and those it implies. */
const sayings = ({ path, schema }: Setting, flag: string, value: unknown): readonly [string, unknown][] => {
  const values = schema.flagValues ?? {}
  if (flag !== schema.flag) return [[path, values[flag]]]
  return [[path, value], ...Object.entries(schema.flagSets ?? {})]
}

/** Refuses two flags that set one setting to different values, such as `--memory --sqlite path`. */
export const refuseContradictions = (settings: readonly Setting[], given: GivenFlags): void => {
  const said = new Map<string, { readonly flag: string; readonly value: unknown }>()
  for (const setting of settings)
    for (const flag of commandLineFlagsOf(setting.schema)) {
      if (given[flag] === undefined) continue
      for (const [path, value] of sayings(setting, flag, given[flag])) {
        const before = said.get(path)
        if (before !== undefined && before.value !== value)
          throw new StartFailed(
            `--${before.flag} and --${flag} contradict one another on ${path}; give one of them`,
            REFUSED,
          )
        said.set(path, { flag, value })
      }
    }
}
