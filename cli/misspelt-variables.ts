/** Variables that look like ours and are none. Warned of, not refused: an orchestrator may set SERVER_PORT and the like. */
import { type Setting, variablesOf } from '../kernel/settings/annotation.ts'
import { nearest } from '../kernel/settings/nearest.ts'

const PREFIX = 'SERVER_'

export interface Misspelt {
  readonly variable: string
  readonly meant: string
}

export const misspeltVariables = (
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly Setting[],
): readonly Misspelt[] => {
  const known = new Set(['SERVER_CONFIG', ...settings.flatMap(({ schema }) => variablesOf(schema))])
  const words = [...known].filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length))
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name))
    .flatMap((variable) => {
      const near = nearest(variable.slice(PREFIX.length), words)
      return near === undefined ? [] : [{ variable, meant: `${PREFIX}${near}` }]
    })
}
