/**
 * Where an operator finds a value: `server.toml:12`, `SERVER_DB_POOL`, `--db-pool`; `settings` when it is written
 * nowhere.
 */
import type { Origin } from './layer.ts'

export const describeOrigin = (origin: Origin): string => {
  switch (origin.source) {
    case 'file':
      return `${origin.file}:${origin.line}`
    case 'environment':
      return origin.name
    case 'flag':
      return `--${origin.name}`
    default:
      return 'settings'
  }
}
