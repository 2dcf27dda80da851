/**
 * Finds the command in the arguments. Without one, or when a flag comes first, it is `serve`: oclif has no default
 * command.
 */

export interface ParsedArguments {
  /** `serve`, `config`, `migrate` …, or undefined for help about the whole program. */
  readonly command: string | undefined
  /** The arguments after the command's name. */
  readonly rest: readonly string[]
  readonly help: boolean
}

const HELP = ['--help', '-h']

export const readArgv = (argv: readonly string[]): ParsedArguments => {
  const end = argv.indexOf('--')
  const flags = end === -1 ? argv : argv.slice(0, end)
  const help = flags.some((word) => HELP.includes(word))
  const [first, ...rest] = argv
  if (first === 'help') return { command: rest.find((word) => !word.startsWith('-')), rest: [], help: true }
  if (first === undefined || first.startsWith('-')) return { command: help ? undefined : 'serve', rest: argv, help }
  return { command: first, rest, help }
}

/** The path after `--config`, needed before the flags are known: the file names the plugins that declare them. */
export const configIn = (argv: readonly string[]): string | undefined => {
  for (const [at, word] of argv.entries()) {
    if (word === '--') return undefined
    if (word === '--config') return argv[at + 1]
    if (word.startsWith('--config=')) return word.slice('--config='.length)
  }
  return undefined
}
