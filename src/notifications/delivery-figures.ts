/** What whoever delivers tells of it. */
export interface DeliveryFigures {
  /** Subscriptions to a function. */
  countOf(tenant: string, fn: string): number
  /** What waits: requests that are kept, and subscribers who have not heard of all of them. */
  figuresOf(tenant: string): { readonly requests: number; readonly subscribers: number }
  /** `lastError`: a code, never what a server wrote. */
  readonly transport: { readonly state: 'ok' | 'resting'; readonly lastError?: string }
}
