import type { WebhookAnswer } from '#model/webhook'

/** One attempt. */
export interface WebhookPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

/** Sends webhooks to their receivers. */
export interface WebhookReceivers {
  /** Whether a function may name this URL: a fault that begins with "must", or undefined. */
  faultOf(url: string): string | undefined
  /** Resolves within 15 s, and never rejects. */
  post(post: WebhookPost): Promise<WebhookAnswer>
  /** Ends attempts in progress. */
  close(): void
}
