/** Whose link it is: of one device, or of a gateway with a provisioning key. Contract 7. */
export interface LinkCaller {
  readonly tenant: string
  /** It may speak for this device alone. */
  readonly device?: string
  /** Id of the provisioning key. */
  readonly key?: string
}
