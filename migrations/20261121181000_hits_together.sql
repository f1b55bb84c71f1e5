-- Hits that come while another of the same key is being counted are counted together: each would wait for the lock on
-- the window's row. The function for one hit stays for processes of the version before.
create function platform.hit_rate_limits(limit_key text, window_seconds int, times int, out hits int,
    out window_ends_at timestamptz)
  language sql security definer set search_path = pg_catalog set synchronous_commit = off as $$
  insert into platform.rate_limit_windows as w (key, hits, window_ends_at)
  values (limit_key, times, clock_timestamp() + make_interval(secs => window_seconds))
  on conflict (key) do update set
    hits = case when w.window_ends_at <= clock_timestamp() then times else w.hits + times end,
    window_ends_at = case when w.window_ends_at <= clock_timestamp()
      then clock_timestamp() + make_interval(secs => window_seconds) else w.window_ends_at end
  returning w.hits, w.window_ends_at
$$;
revoke all on function platform.hit_rate_limits from public;
grant execute on function platform.hit_rate_limits to mailwright_app;
