/** The balancer of a primary, a standby and a replica in a test: nginx, or the same rules in this process. */

export interface DeployServers {
  /** URLs of the servers, one of which is the primary. */
  readonly writers: readonly [string, string]
  readonly reader: string
}

export interface DeployFront {
  /** URL for clients. */
  readonly address: string
  /** URL for the replica's `primary_url`, known before the servers are. */
  readonly primaryUrl: string
  /** Begins to pass requests on. */
  begin(servers: DeployServers): Promise<void>
  stop(): Promise<void>
}
