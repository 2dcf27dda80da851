/** Settings of [console]. */
import { Type } from '../../kernel/index.ts'

export const consoleSection = Type.Object({
  enabled: Type.Boolean({
    default: false,
    env: 'SERVER_CONSOLE',
    description: 'Shows pages for operators at /_console: status, audit trail, usage, jobs, slow requests.',
  }),
})
