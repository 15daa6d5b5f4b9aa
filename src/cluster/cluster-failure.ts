/** The cluster cannot be used; the message says what to change. Apart, so that it can be used without NATS. */
export class ClusterFailure extends Error {}
