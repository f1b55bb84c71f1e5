alter table messaging.media_uses drop constraint media_uses_kind_check;
alter table messaging.media_uses add constraint media_uses_kind_check
  check (kind in ('campaign', 'automation', 'automation-version', 'template', 'template-version'));
create trigger note_media_of_new after insert or delete on messaging.templates for each row
  execute function messaging.note_media('template', 'id', 'draft');
create trigger note_media_of_changed after update of draft on messaging.templates for each row
  execute function messaging.note_media('template', 'id', 'draft');
-- Each by itself: one that is not the newest may be put in use again.
create trigger note_media_of_new after insert or delete on messaging.template_versions for each row
  execute function messaging.note_media('template-version', 'id', 'content');
