/** What the feed tells every server with a transaction that ends access tokens: they read the list of changes again. */
import type { Note } from '../../database/service.ts'

export const REVOKED: Note = { about: 'grant' }
