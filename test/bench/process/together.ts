/** The server under test without the writer lease: on PostgreSQL it shows nothing from memory that others may have changed. */
import { makeDatabasePlugin } from '../../../plugins/database/database-plugin.ts'
import { housePlugins } from '../plugins.ts'
import { serveWith } from './serve.ts'

serveWith(housePlugins.map((one) => (one.name === 'database' ? makeDatabasePlugin({ hasLease: false }) : one)))
