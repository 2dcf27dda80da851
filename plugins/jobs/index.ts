/** Durable jobs: work that outlives the process that began it. Spec: States and transitions. */
import { makeJobsPlugin } from './jobs-plugin.ts'
import { TIMES } from './times.ts'

export default makeJobsPlugin(TIMES)
