/** The command, imported when it is run. */
export const loadReindex = async () => (await import('./reindex.ts')).default
