/** How devices are updated without anybody asking. Contract 6, Options. */
export interface UpdateOptions {
  /** Not because they come. */
  readonly isConnectUpdateDisabled: boolean
  /** By the hook only those that are held at a version. */
  readonly isHookForPinsOnly: boolean
  /** When all devices are gone through: five or six fields of cron, UTC. */
  readonly autoUpdate: string | undefined
  /** Updates that begin by themselves and have not downloaded yet, at once. */
  readonly underWayMax: number
}

export const defaultUpdateOptions: UpdateOptions = {
  isConnectUpdateDisabled: false,
  isHookForPinsOnly: false,
  autoUpdate: undefined,
  underWayMax: 64,
}
