/** The cluster cannot be used; the message names the remedy. In its own file, so that importing it does not load NATS. */
export class ClusterFailure extends Error {}
