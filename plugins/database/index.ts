/**
 * The database: SQLite in a file or in memory, or PostgreSQL; migrations of all plugins; the writer lease. Spec:
 * [database], Versioning, Cluster behavior.
 */
import { makeDatabasePlugin } from './database-plugin.ts'

export default makeDatabasePlugin({ hasLease: true })
