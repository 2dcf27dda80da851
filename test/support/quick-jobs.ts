/** The plugin `jobs` with a lease of two seconds, so that tests need not wait for thirty. */
import { makeJobsPlugin } from '../../plugins/jobs/jobs-plugin.ts'
import { TIMES } from '../../plugins/jobs/times.ts'

export default makeJobsPlugin({ ...TIMES, lease: 2_000, trust: 1_300, beat: 200, check: 100, look: 200 })
