/** The cluster cannot be used. The message names the remedy. This file imports nothing, so it does not load NATS. */
export class ClusterFailure extends Error {}
