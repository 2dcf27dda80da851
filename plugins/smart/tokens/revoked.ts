/** Published with a transaction that ends access tokens, so that every server reads the list of changes again. */
import type { Note } from '../../database/service.ts'

export const REVOKED: Note = { about: 'grant' }
