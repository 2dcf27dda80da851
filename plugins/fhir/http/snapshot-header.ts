/**
 * The request header by which a client asks for a state of the database that is at least as new as what it has seen. Routes
 * that only read name it as their `relay`: a replica that is behind sends such a request on.
 */
export const SNAPSHOT_HEADER = 'x-snapshot'
