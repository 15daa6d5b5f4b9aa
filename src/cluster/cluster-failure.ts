/** The cluster cannot be used. The message names the cause, and the remedy if it is known. This file imports nothing, so it does not load NATS. */
export class ClusterFailure extends Error {}
