/**
 * Loads what nearly every test process loads, and ends, so that its compiled form is in the cache of the run before many
 * processes ask for it. Compiling takes half of what a server's process takes to start, and one that is killed keeps nothing.
 */
import '../../cli/run.ts'
import '../../plugins/index.ts'
import '../../plugins/database/orm.ts'
import '../../plugins/database/sqlite/database.ts'
import '../../plugins/database/postgres/database.ts'
import './postgres.ts'
import './server-with.ts'
import './spawn-server.ts'
