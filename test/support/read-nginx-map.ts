/** A `map` of examples/deploy/nginx.conf as a function: its patterns in their order, else its default. */
import { readFileSync } from 'node:fs'

const CONF = readFileSync(new URL('../../examples/deploy/nginx.conf', import.meta.url), 'utf8')

export const readNginxMap = (variable: string): ((text: string) => string) => {
  const [, body = ''] = new RegExp(`^map .* \\$${variable} \\{\\n([^]*?)^\\}`, 'm').exec(CONF) ?? []
  const [, usual] = /^\s*default (\S+);$/m.exec(body) ?? []
  const lines = [...body.matchAll(/^\s*"~(.*)" (\S+);$/gm)].map(
    ([, pattern = '', value = '']) => [new RegExp(pattern), value] as const,
  )
  if (usual === undefined || lines.length === 0) throw new Error(`examples/deploy/nginx.conf has no map of ${variable}`)
  return (text) => lines.find(([pattern]) => pattern.test(text))?.[1] ?? usual
}
