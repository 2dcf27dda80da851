/**
 * The plugin `database` without the writer lease, so that several servers write into one PostgreSQL at once. What the
 * database has to keep whole between transactions is tested with them: sessions of one server meet in the same ways.
 */
import { makeDatabasePlugin } from '../../plugins/database/database-plugin.ts'

export const writersTogether = makeDatabasePlugin({ hasLease: false })
