/** Reads what clients send. The schemas are loaded with the first connection, because TypeBox takes a tenth of a start. */
import type { FromClient, Queries } from '../../schemas/sync.ts'
import { MessageMalformed } from './errors.ts'

export interface ReadMessages {
  /** Throws 400. */
  message(text: string): FromClient
  /** Throws 400. */
  queries(text: string): Queries
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw MessageMalformed('it is not JSON')
  }
}

export const loadReadMessages = async (): Promise<ReadMessages> => {
  const [{ Check }, schemas] = await Promise.all([import('typebox/schema'), import('../../schemas/sync.ts')])
  return {
    message(text) {
      const value = parse(text)
      if (!Check(schemas.FromClient, value)) throw MessageMalformed('op and its members do not fit')
      return value as FromClient
    },
    queries(text) {
      const value = parse(text)
      if (!Check(schemas.Queries, value)) throw MessageMalformed('the body is {"queries":[{"id","query","resume"?}]}')
      const { queries } = value as Queries
      if (new Set(queries.map(({ id }) => id)).size < queries.length) throw MessageMalformed('an id is given twice')
      return value as Queries
    },
  }
}
