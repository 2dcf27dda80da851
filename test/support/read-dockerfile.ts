/** Reads a Dockerfile of plain instructions into its stages. */

export interface Instruction {
  readonly name: string
  /** What follows the name, with continued lines joined. */
  readonly text: string
}

export interface Stage {
  readonly image: string
  /** The word after AS. */
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

/** Throws where a line is no instruction. */
export const readDockerfile = (text: string): readonly Stage[] => {
  const joined = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\s*\\\n\s*/g, ' ')
  const stages: { image: string; name: string | undefined; instructions: Instruction[] }[] = []
  for (const line of joined.split('\n').filter((one) => one.trim() !== '')) {
    const [, name, rest] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    if (name === undefined || rest === undefined) throw new Error(`no instruction: ${line}`)
    if (name === 'FROM') {
      const [image = '', , as] = rest.split(' ')
      stages.push({ image, name: as, instructions: [] })
    } else stages.at(-1)!.instructions.push({ name, text: rest })
  }
  return stages
}

/** The names and values of an ENV instruction. */
export const environmentOf = ({ text }: Instruction): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(' ').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  )
